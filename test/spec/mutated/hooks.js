// The hooks of `replay.ts`: they replace a text in one file of the library while Node loads it.
let mutation;

export function initialize(given) {
  mutation = given;
}

export async function load(url, context, next) {
  const loaded = await next(url, context);
  if (!url.endsWith(`/libs/floodgate/src/${mutation.file}`)) return loaded;
  const source = String(loaded.source);
  if (!source.includes(mutation.find)) throw new Error(`${mutation.file} has no text ${mutation.find}`);
  return { ...loaded, source: source.replaceAll(mutation.find, mutation.replace) };
}
