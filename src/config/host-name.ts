const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)(?::\d{1,5})?$/i;

/** The name in a `Host` header, in lower case and without the port, such as `[::1]`; undefined for a malformed header. */
export function hostName(header: string | undefined): string | undefined {
  if (header === undefined || !HOST.test(header) || !URL.canParse(`http://${header}`)) return undefined;
  return new URL(`http://${header}`).hostname;
}
