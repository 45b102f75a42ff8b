/** Reads the headers of axios: an object with a method `get`, or a plain one with names in lower case. */
export function axiosHeaders(headers: unknown): (name: string) => string | undefined {
  return (name) => {
    if (typeof headers !== 'object' || headers === null) return undefined;
    const { get } = headers as { get?: unknown };
    const value: unknown =
      typeof get === 'function' ? get.call(headers, name) : (headers as Readonly<Record<string, unknown>>)[name];
    if (Array.isArray(value)) return value.join(', ');
    return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
  };
}
