// Puts constants where they are used, and drops what is never used or never runs.
import { NIL, bool, childrenOf, isFalse, isLiteral, isNode, isPure, isTrue, rewrite, usesOf, within } from './tree.js';

/** Literals and functions in the place of locals that are another name for them, and no branches that never run. */
export function fold(chunk) {
  const uses = usesOf(chunk);
  const literals = new Map();
  const functions = new Set();
  for (const node of within(chunk)) {
    if (node.type === 'FunctionDeclaration' && node.isLocal && uses(node.identifier.local).writes === 0) {
      functions.add(node.identifier.local);
    }
  }
  for (const node of within(chunk)) {
    if (node.type !== 'LocalStatement') continue;
    const lastCall = node.init.length > 0 && !isPure(node.init.at(-1));
    node.variables.forEach(({ local }, i) => {
      const value = node.init[i] ?? (lastCall ? undefined : NIL);
      if (value && (isLiteral(value) || functions.has(value.local)) && uses(local).writes === 0)
        literals.set(local, value);
    });
  }
  rewrite(chunk, (node) => {
    if (node.type === 'LocalStatement' || node.type === 'FunctionDeclaration') return node;
    for (const [name, value] of Object.entries(node)) {
      const literalOf = (one) =>
        one?.type === 'Identifier' && literals.has(one.local) ? literals.get(one.local) : one;
      if (name === 'local' || (name === 'variables' && node.type !== 'LocalStatement')) continue;
      if (Array.isArray(value)) node[name] = value.map(literalOf);
      else if (isNode(value) && name !== 'identifier' && name !== 'key') node[name] = literalOf(value);
    }
    return folded(node);
  });
  for (const node of within(chunk)) {
    if (node.type === 'LocalStatement') node.init = node.init.map((one) => literals.get(one.local) ?? one).map(folded);
  }
}

function folded(node) {
  if (node.type === 'UnaryExpression' && node.operator === 'not' && isLiteral(node.argument)) {
    return bool(isFalse(node.argument));
  }
  if (node.type === 'LogicalExpression' && isLiteral(node.left)) {
    // Of the values of a call it has the first alone.
    return isTrue(node.left) === (node.operator === 'and') ? { ...node.right, isFirst: true } : node.left;
  }
  if (node.type !== 'IfStatement') return node;
  const clauses = node.clauses.filter(({ condition }) => !condition || !isFalse(condition));
  const always = clauses.findIndex(({ condition }) => condition && isTrue(condition));
  if (always >= 0) clauses.splice(always, Infinity, { type: 'ElseClause', body: clauses[always].body });
  if (clauses.length === 0) return [];
  if (clauses[0].type === 'ElseClause') return { type: 'DoStatement', body: clauses[0].body };
  const [first, ...rest] = clauses;
  return { ...node, clauses: [{ ...first, type: 'IfClause' }, ...rest] };
}

/** Drops what nothing uses. */
export function drop(chunk) {
  const uses = usesOf(chunk);
  const isUnused = ({ local }) => uses(local).reads === 0 && uses(local).writes === 0;
  rewrite(chunk, (node) => {
    if (node.type === 'FunctionDeclaration' && node.isLocal && isUnused(node.identifier)) return [];
    if (node.type === 'DoStatement' && node.body.length === 0) return [];
    if (node.type === 'ForNumericStatement' && node.body.length === 0 && [...childrenOf(node)].every(isPure)) return [];
    if (node.type !== 'LocalStatement' || !node.init.every(isPure) || node.init.length > node.variables.length)
      return node;
    const kept = node.variables.flatMap((one, i) => (isUnused(one) ? [] : [i]));
    if (kept.length === 0) return [];
    const init = kept.map((i) => node.init[i] ?? NIL);
    while (init.at(-1)?.type === 'NilLiteral') init.pop();
    return { ...node, variables: kept.map((i) => node.variables[i]), init };
  });
}
