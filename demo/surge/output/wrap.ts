/** Columns that every line of the output fits. */
export const COLUMNS = 100;

/** Breaks a text at spaces into lines of at most `width` characters. A longer word has a line of its own. */
export function wrap(text: string, width = COLUMNS, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && indent.length + longer.length > width) {
      lines.push(indent + line);
      line = word;
    } else {
      line = longer;
    }
  }
  lines.push(indent + line);
  return lines.join('\n');
}
