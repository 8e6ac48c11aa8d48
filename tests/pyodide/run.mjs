// Runs a Python script in Pyodide, the Python of browsers: node run.mjs FOLDER SCRIPT
// Python finds the folder at /work and runs the file of that name in it. What it prints is printed.
import { loadPyodide } from "pyodide";

const [folder, script] = process.argv.slice(2);
const python = await loadPyodide();
python.FS.mkdir("/work");
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, "/work");
python.FS.chdir("/work");
python.runPython("import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '/work')");
try {
  await python.runPythonAsync(python.FS.readFile(script, { encoding: "utf8" }));
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
