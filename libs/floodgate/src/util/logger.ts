/** The logger that gets the library's log lines. Nest's `Logger` and `console` fit. */
export interface Logger {
  log(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}
