"""The command line, `weald`: train, evaluate and use models without Python.

    main        the entry point: runs a command, formats errors, sets the exit code
    process     Ctrl-C, standard streams and exit of the process
    app         the list of commands
    options     options that several commands take, single and in groups
    failures    the errors of commands, with their exit codes
    train       command: train a model on a file
    cv          command: cross-validation
    tune        command: choose parameters by out-of-bag error
    predict     command: predict the rows of a file
    evaluate    command: metrics of a model on a file
    explain     command: contributions of the features to a prediction
    report      command: an HTML report on a model
    inspect     command: contents of a model file
    verify      command: check a model file
    convert     command: convert a model to C, ONNX and other formats
    bench       command: speed compared with other libraries
    demo        command: a first example
    doctor      command: check the installation
    reading     reads files to tables: csv, parquet, feather, JSON lines, plain or gzipped
    columns     roles of the columns; "did you mean"
    modeling    makes estimators from options, X and y from tables; loads model files
    writing     writes predictions to files
    progress    a progress bar while trees grow
    screen      prints text, tables and JSON
    arrow       names for the objects of pyarrow

Only what a command needs is imported when it runs, so `weald --help` is quick.
"""
