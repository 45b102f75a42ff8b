/** What differs between two warnings of the same thing: numbers, and what stands in parentheses. */
const PARTICULARS = /\d+(?:\.\d+)?| \([^)]*\)/g;

/** Tells each kind of warning once. A machine that is too busy for a run repeats one dozens of times. */
export class OnceEach {
  private readonly known = new Set<string>();

  constructor(private readonly log: (line: string) => void) {}

  tell(line: string): void {
    const kind = line.replaceAll(PARTICULARS, '');
    if (this.known.has(kind)) return;
    this.known.add(kind);
    this.log(line);
  }

  /** From now on each kind is told once more. */
  forget(): void {
    this.known.clear();
  }
}
