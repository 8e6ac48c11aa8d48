// Runs a Python script in Pyodide, the Python of browsers: node run.mjs FOLDER SCRIPT
// FOLDER is what Python finds at /work, and SCRIPT a file in it, run from there. What it prints is printed.
import { loadPyodide } from "pyodide";

const [folder, script] = process.argv.slice(2);
const python = await loadPyodide();
python.FS.mkdir("/work");
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, "/work");
python.FS.chdir("/work");
python.runPython("import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '/work')");
await python.runPythonAsync(python.FS.readFile(script, { encoding: "utf8" }));
