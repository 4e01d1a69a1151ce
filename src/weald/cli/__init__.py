"""The command line, `weald`: from a file and a question to an answer, without Python.

    main        the entry: runs a command, words errors, chooses the exit code
    process     Ctrl-C, the standard streams, and the end of the process
    app         the list of commands; each has a file of its own
    options     what several commands take
    reading     files to tables: csv, parquet, feather, JSON lines, any of them gzipped
    columns     which column is what; "did you mean"
    modeling   options to estimators, and model files
    writing     predictions to files
    screen      words, tables and JSON for people and scripts

Only what a command needs is imported when it runs, so `weald --help` is quick.
"""
