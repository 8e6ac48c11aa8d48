"""LibreOffice: running one of our own, and speaking to it."""
