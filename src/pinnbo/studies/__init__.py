"""Studies that outlive a process: problem files, storage, workers, corrections and the commands around them."""
