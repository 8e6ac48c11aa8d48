"""Logs of benchmarks, read into the measured numbers of a hardware file.

records      what logs say, in base units
reading      opening a log and finding out whose it is; one module for each tool
fit          seconds = overhead + work / rate
findings     which record gives which number of a hardware file, and why others do not
hardware_file  writing them
report       tables on the terminal
"""
