import type { Node } from 'ts-morph';

/** Something that a person has to decide. */
export interface Note {
  /** An absolute path. */
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** Collects what a person has to decide. */
export class Notes {
  private readonly all: Note[] = [];

  add(node: Node, message: string): void {
    const note = { file: node.getSourceFile().getFilePath(), line: node.getStartLineNumber(), message };
    const known = this.all.some((one) => one.file === note.file && one.line === note.line && one.message === message);
    if (!known) this.all.push(note);
  }

  /** By file and line. */
  sorted(): readonly Note[] {
    return this.all.toSorted((one, other) => one.file.localeCompare(other.file) || one.line - other.line);
  }
}
