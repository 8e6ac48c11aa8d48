"""Where things stand: each module lays out one kind of sheet as a plan. Definitions know nothing of cells."""
