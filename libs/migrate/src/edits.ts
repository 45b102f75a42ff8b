import type { Node, SourceFile } from 'ts-morph';

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Changes of one file's text. All positions are those of the text as it was, so that everything else stays as it is. */
export class Edits {
  private readonly edits: Edit[] = [];

  constructor(readonly file: SourceFile) {}

  replace(node: Node, text: string): void {
    this.change(node.getStart(), node.getEnd(), text);
  }

  insert(position: number, text: string): void {
    this.change(position, position, text);
  }

  /** Removes a node with the blanks before it, and its line if nothing else is on it. */
  remove(node: Node): void {
    const text = this.file.getFullText();
    let start = node.getStart();
    let end = node.getEnd();
    while (start > 0 && ' \t'.includes(text[start - 1]!)) start--;
    while (end < text.length && ' \t'.includes(text[end]!)) end++;
    const isLine = start === 0 || text[start - 1] === '\n';
    const lineEnd = /^\r?\n/.exec(text.slice(end))?.[0].length ?? 0;
    if (isLine && lineEnd > 0) this.change(start, end + lineEnd, '');
    // Beside other things one blank stays where there was one.
    else if (isLine) this.change(node.getStart(), end, '');
    else this.change(start, node.getEnd(), '');
  }

  /** Removes an element of a list with the comma that belongs to it. */
  removeElement(element: Node): void {
    const next = element.getNextSibling();
    const before = element.getPreviousSibling();
    const isComma = (node: Node | undefined): node is Node => node?.getText() === ',';
    const following = isComma(next) ? next.getNextSibling() : undefined;
    if (following !== undefined) this.change(element.getStart(), following.getStart(), '');
    else if (isComma(before)) this.change(before.getStart(), element.getEnd(), '');
    else this.change(element.getStart(), isComma(next) ? next.getEnd() : element.getEnd(), '');
  }

  /** Whether a position lies in text that is replaced or removed. */
  covers(node: Node): boolean {
    return this.edits.some(({ start, end }) => start <= node.getStart() && node.getEnd() <= end && start < end);
  }

  get isEmpty(): boolean {
    return this.edits.length === 0;
  }

  /** The text with all changes, whose lines end as the file's first one does. Of two changes that overlap the wider one holds. */
  result(): string {
    let text = this.file.getFullText();
    const lineEnd = /\r?\n/.exec(text)?.[0] ?? '\n';
    const kept = this.edits.filter((edit) => !this.edits.some((other) => other !== edit && contains(other, edit)));
    for (const { start, end, text: changed } of kept.toSorted((one, other) => other.start - one.start)) {
      text = text.slice(0, start) + changed.replaceAll(/\r?\n/g, lineEnd) + text.slice(end);
    }
    return text;
  }

  private change(start: number, end: number, text: string): void {
    this.edits.push({ start, end, text });
  }
}

function contains(wide: Edit, narrow: Edit): boolean {
  return wide.start <= narrow.start && narrow.end <= wide.end && wide.end - wide.start > narrow.end - narrow.start;
}
