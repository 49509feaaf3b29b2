def deployed(run):
    pass
