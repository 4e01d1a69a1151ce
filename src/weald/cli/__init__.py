"""The command line, `weald`: from a file and a question to an answer, without Python.

    main        the entry: runs a command, words errors, chooses the exit code
    process     Ctrl-C, the standard streams, and the end of the process
    app         the list of commands
    options     options that several commands take, alone and in groups
    failures    the errors of commands, with their exit codes
    train       command: a file to a model
    cv          command: cross-validation
    tune        command: parameters by out-of-bag error
    predict     command: a model and a file to predictions
    evaluate    command: metrics of a model on a file
    explain     command: what moved the prediction of a row
    report      command: a page on a model
    inspect     command: what is in a model file
    verify      command: is a model file whole?
    convert     command: a model to C, ONNX and other formats
    bench       command: speed beside other libraries
    demo        command: a first example
    doctor      command: is the installation sound?
    reading     files to tables: csv, parquet, feather, JSON lines, any of them gzipped
    columns     which column is what; "did you mean"
    modeling    options to estimators, tables to X and y, and model files
    writing     predictions to files
    progress    a bar while trees grow
    screen      text, tables and JSON for people and scripts
    arrow       names for the objects of pyarrow

Only what a command needs is imported when it runs, so `weald --help` is quick.
"""
