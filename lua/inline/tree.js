// The nodes of a Lua program: what is below them, the locals of their identifiers, and copies.

// Each local is one object, shared by all its identifiers: { name }. So names cannot be mixed up, whatever is put where.

export const isNode = (value) => typeof value === 'object' && value !== null && typeof value.type === 'string';

/** The nodes right below a node. */
export function* childrenOf(node) {
  for (const [name, value] of Object.entries(node)) {
    if (name === 'local') continue;
    if (Array.isArray(value)) yield* value.filter(isNode);
    else if (isNode(value)) yield value;
  }
}

/** A node and all below it. */
export function* within(node) {
  yield node;
  for (const child of childrenOf(node)) yield* within(child);
}

/** Finds the local of every identifier. */
export function resolve(nodes, scope) {
  for (const node of nodes) resolveOne(node, scope);
}

function declare(identifiers, scope) {
  for (const one of identifiers) {
    if (one.type !== 'Identifier') continue; // varargs
    one.local = { name: one.name };
    scope.set(one.name, one.local);
  }
}

function resolveOne(node, scope) {
  switch (node.type) {
    case 'Identifier':
      node.local = scope.get(node.name);
      return;
    case 'MemberExpression':
      resolveOne(node.base, scope);
      return;
    case 'TableKeyString':
      resolveOne(node.value, scope);
      return;
    case 'LocalStatement':
      resolve(node.init, scope);
      declare(node.variables, scope);
      return;
    case 'FunctionDeclaration': {
      if (node.isLocal) declare([node.identifier], scope);
      else if (node.identifier) resolveOne(node.identifier, scope);
      const inner = new Map(scope);
      declare(node.parameters, inner);
      resolve(node.body, inner);
      return;
    }
    case 'ForNumericStatement':
    case 'ForGenericStatement': {
      resolve(node.iterators ?? [node.start, node.end, ...(node.step ? [node.step] : [])], scope);
      const inner = new Map(scope);
      declare(node.variables ?? [node.variable], inner);
      resolve(node.body, inner);
      return;
    }
    case 'RepeatStatement': {
      const inner = new Map(scope);
      resolve(node.body, inner);
      resolveOne(node.condition, inner);
      return;
    }
    default:
      for (const child of childrenOf(node)) {
        if (node.body?.includes(child)) continue;
        resolveOne(child, scope);
      }
      if (node.body) resolve(node.body, new Map(scope));
  }
}

/** How often each local is read, and written after its declaration; which are written by a function other than the chunk's. */
export function usesOf(root) {
  const uses = new Map();
  const of = (local) => {
    if (!uses.has(local)) uses.set(local, { reads: 0, writes: 0, escapes: false });
    return uses.get(local);
  };
  const visit = (node, depth) => {
    if (node.type === 'Identifier') {
      if (node.local) of(node.local).reads++;
      return;
    }
    const inner = node.type === 'FunctionDeclaration' ? depth + 1 : depth;
    const declared = new Set(declaredBy(node));
    for (const child of childrenOf(node)) {
      if (declared.has(child)) continue;
      if (node.type === 'AssignmentStatement' && node.variables.includes(child) && child.type === 'Identifier') {
        if (!child.local) continue;
        of(child.local).writes++;
        if (depth > 0) of(child.local).escapes = true;
      } else if ((node.type === 'MemberExpression' || node.type === 'TableKeyString') && isName(node, child)) continue;
      else visit(child, inner);
    }
  };
  visit(root, 0);
  return (local) => uses.get(local) ?? { reads: 0, writes: 0, escapes: false };
}

const isName = (node, child) => (node.type === 'MemberExpression' ? node.identifier : node.key) === child;

/** The identifiers that a node declares. */
export function declaredBy(node) {
  if (node.type === 'LocalStatement') return node.variables;
  if (node.type === 'FunctionDeclaration') return [...(node.isLocal ? [node.identifier] : []), ...node.parameters];
  return node.type.startsWith('For') ? (node.variables ?? [node.variable]) : [];
}

export const NIL = { type: 'NilLiteral', value: null, raw: 'nil' };
export const isLiteral = (node) =>
  ['NumericLiteral', 'StringLiteral', 'BooleanLiteral', 'NilLiteral'].includes(node.type) ||
  (node.type === 'UnaryExpression' && node.operator === '-' && node.argument.type === 'NumericLiteral');
export const isFalse = (node) => node.type === 'NilLiteral' || (node.type === 'BooleanLiteral' && !node.value);
export const isTrue = (node) => isLiteral(node) && !isFalse(node);
export const bool = (value) => ({ type: 'BooleanLiteral', value, raw: String(value) });

/** Whether an expression has no effect, and cannot fail in a program that works: it may be dropped. */
export function isPure(node) {
  if (node.type === 'FunctionDeclaration') return true;
  if (/^(?:Call|TableCall|StringCall|Vararg)/.test(node.type)) return false;
  return [...childrenOf(node)].every(isPure);
}

/** Replaces each node by what `change` makes of it, from the inside out. */
export function rewrite(node, change) {
  for (const [name, value] of Object.entries(node)) {
    if (name === 'local') continue;
    if (Array.isArray(value)) node[name] = value.flatMap((one) => (isNode(one) ? rewrite(one, change) : one));
    else if (isNode(value)) node[name] = rewrite(value, change);
  }
  return change(node);
}

/** A copy of nodes, in which what they declare is new, and `replaced` stands in the place of other locals. */
export function copy(node, replaced) {
  for (const one of within(node)) {
    for (const { local } of declaredBy(one)) if (local) replaced.set(local, { local: { name: local.name } });
  }
  const one = (value) => {
    if (Array.isArray(value)) return value.map(one);
    if (!isNode(value)) return value;
    const by = value.type === 'Identifier' ? replaced.get(value.local) : undefined;
    if (by?.type) return one(by);
    const made = Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, name === 'local' ? part : one(part)]),
    );
    return by ? { ...made, local: by.local } : made;
  };
  return one(node);
}
