// Runs Python in Pyodide, the Python of browsers: node run.mjs FOLDER
// The folder is where Python starts; its session.py has `async def session()`, and what that prints is printed.
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
python.FS.mkdir("/work");
python.FS.mount(python.FS.filesystems.NODEFS, { root: process.argv[2] }, "/work");
try {
  await python.runPythonAsync(`
    import os, sys
    sys.dont_write_bytecode = True
    sys.path.insert(0, "/work")
    os.chdir("/work")
    from session import session
    await session()
  `);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
