/** A process that runs, and never says that it is ready. */
setInterval(() => undefined, 1_000);
