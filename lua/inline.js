// Makes a Lua program faster without changing what it does: Redis runs a script from its first line each time, so every function
// that it makes, every call of one and every table is a measurable part of a short run.
//
// - A call of a local function becomes the function's body, where the call is a statement, or all that a statement assigns. An
//   early `return` becomes a `break` out of a `repeat ... until true`. Functions that only return an expression also go into
//   expressions.
// - Literals take the place of the locals that they initialise, and branches that can never run are dropped.
// - A table that is only read at constant places becomes locals.
// - What nothing uses any more is dropped.
//
// Functions stay as they are that return from within a loop, call themselves, or are used as values.
//
// What a program must not do: put parentheses around a call to have its first value alone, as luaparse drops them; and write by a
// computed index to a place of a table that its constructor fills, if that is read by a constant one.
import luaparse from 'luaparse';
import { print } from './print.js';

/** The faster text of a program without comments. */
export function inlined(text) {
  const chunk = luaparse.parse(text, { luaVersion: '5.1', comments: false, encodingMode: 'none' });
  resolve(chunk.body, new Map());
  for (let before; before !== (before = print(chunk.body));) {
    fold(chunk);
    inlineCalls(chunk);
    withoutCalls(chunk);
    scalars(chunk);
    drop(chunk);
  }
  return print(chunk.body);
}

// Each local is one object, shared by all its identifiers: { name }. So names cannot be mixed up, whatever is put where.

const isNode = (value) => typeof value === 'object' && value !== null && typeof value.type === 'string';

/** The nodes right below a node. */
function* childrenOf(node) {
  for (const [name, value] of Object.entries(node)) {
    if (name === 'local') continue;
    if (Array.isArray(value)) yield* value.filter(isNode);
    else if (isNode(value)) yield value;
  }
}

/** A node and all below it. */
function* within(node) {
  yield node;
  for (const child of childrenOf(node)) yield* within(child);
}

/** Finds the local of every identifier. */
function resolve(nodes, scope) {
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
function usesOf(root) {
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
function declaredBy(node) {
  if (node.type === 'LocalStatement') return node.variables;
  if (node.type === 'FunctionDeclaration') return [...(node.isLocal ? [node.identifier] : []), ...node.parameters];
  return node.type.startsWith('For') ? (node.variables ?? [node.variable]) : [];
}

const NIL = { type: 'NilLiteral', value: null, raw: 'nil' };
const isLiteral = (node) =>
  ['NumericLiteral', 'StringLiteral', 'BooleanLiteral', 'NilLiteral'].includes(node.type) ||
  (node.type === 'UnaryExpression' && node.operator === '-' && node.argument.type === 'NumericLiteral');
const isFalse = (node) => node.type === 'NilLiteral' || (node.type === 'BooleanLiteral' && !node.value);
const isTrue = (node) => isLiteral(node) && !isFalse(node);
const bool = (value) => ({ type: 'BooleanLiteral', value, raw: String(value) });

/** Whether an expression has no effect, and cannot fail in a program that works: it may be dropped. */
function isPure(node) {
  if (node.type === 'FunctionDeclaration') return true;
  if (/^(?:Call|TableCall|StringCall|Vararg)/.test(node.type)) return false;
  return [...childrenOf(node)].every(isPure);
}

/** Replaces each node by what `change` makes of it, from the inside out. */
function rewrite(node, change) {
  for (const [name, value] of Object.entries(node)) {
    if (name === 'local') continue;
    if (Array.isArray(value)) node[name] = value.flatMap((one) => (isNode(one) ? rewrite(one, change) : one));
    else if (isNode(value)) node[name] = rewrite(value, change);
  }
  return change(node);
}

/** A copy of nodes, in which what they declare is new, and `replaced` stands in the place of other locals. */
function copy(node, replaced) {
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

/** Literals and functions in the place of locals that are another name for them, and no branches that never run. */
function fold(chunk) {
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

/** Functions of Lua that return one value. */
const RETURN_ONE = new Set(['floor', 'ceil', 'max', 'min', 'format']);
const isOneValue = ({ type, base, isFirst }) =>
  isFirst || (type === 'CallExpression' ? RETURN_ONE.has(base.name) : !/Call|Vararg/.test(type));

/** Whether each parameter gets one argument or nil, and no other argument has an effect. */
function fits({ parameters }, args) {
  if (args.slice(parameters.length).some((arg) => !isPure(arg))) return false;
  return args.length === 0 || args.length >= parameters.length || isOneValue(args.at(-1));
}

/** The functions that can be put in the place of their calls, by their locals. */
function inlinableIn(root) {
  const uses = usesOf(root);
  const functions = new Map();
  for (const node of within(root)) {
    if (node.type !== 'FunctionDeclaration' || !node.isLocal) continue;
    const { local } = node.identifier;
    if (uses(local).writes > 0 || node.parameters.some(({ type }) => type !== 'Identifier')) continue;
    if ([...within({ ...node, identifier: null })].some((one) => one.local === local)) continue; // calls itself
    if (!returnsInLoop(node.body, false)) functions.set(local, node);
  }
  return functions;
}

/** The parameters of a function that functions within it use, which may outlive the call: a variable in their place may change. */
function keptBy({ body }) {
  const inner = [...within({ type: 'Chunk', body })].filter(({ type }) => type === 'FunctionDeclaration');
  return new Set(inner.flatMap((node) => [...within(node)].map(({ local }) => local)));
}

const LOOPS = new Set(['WhileStatement', 'RepeatStatement', 'ForNumericStatement', 'ForGenericStatement']);

function returnsInLoop(nodes, inLoop) {
  return nodes.some((node) => {
    if (node.type === 'ReturnStatement') return inLoop;
    if (node.type === 'FunctionDeclaration') return false;
    return returnsInLoop([...childrenOf(node)], inLoop || LOOPS.has(node.type));
  });
}

/** Whether some `return` of a body is not its last statement. */
function returnsEarly(body) {
  const returns = (node) => {
    if (node.type === 'FunctionDeclaration') return false;
    return node.type === 'ReturnStatement' || [...childrenOf(node)].some(returns);
  };
  return body.some((node, i) => returns(node) && !(node.type === 'ReturnStatement' && i === body.length - 1));
}

/** Whether a body cannot end without a `return`. */
function alwaysReturns(body) {
  const last = body.at(-1);
  if (last?.type === 'DoStatement') return alwaysReturns(last.body);
  if (last?.type === 'IfStatement') {
    return last.clauses.at(-1).type === 'ElseClause' && last.clauses.every((clause) => alwaysReturns(clause.body));
  }
  return last?.type === 'ReturnStatement';
}

/** Puts functions in the place of their calls. */
function inlineCalls(chunk) {
  const functions = inlinableIn(chunk);
  const uses = usesOf(chunk);
  const calleeOf = (node) => {
    const callee = node?.type === 'CallExpression' ? functions.get(node.base.local) : undefined;
    return callee && fits(callee, node.arguments) ? callee : undefined;
  };
  /** The function whose values a statement assigns: of some calls it is the first value alone. */
  const assignedCallee = ({ init, variables }) =>
    init.length === 1 && !(init[0].isFirst && variables.length > 1) ? calleeOf(init[0]) : undefined;

  const inExpressions = (node) =>
    rewrite(node, (one) => {
      const callee = calleeOf(one);
      if (callee?.body.length !== 1 || callee.body[0].type !== 'ReturnStatement') return one;
      const [value, ...more] = callee.body[0].arguments;
      if (value === undefined || more.length > 0 || !isOneValue(value)) return one;
      const kept = keptBy(callee);
      if (one.arguments.some((arg, i) => isWritten(arg) && kept.has(callee.parameters[i]?.local))) return one;
      const simple = callee.parameters.every((_, i) => isSimple(one.arguments[i]));
      if (!simple || one.arguments.length > callee.parameters.length) return one;
      return copy(value, new Map(callee.parameters.map(({ local }, i) => [local, one.arguments[i] ?? NIL])));
    });
  const isSimple = (node) =>
    node === undefined || isLiteral(node) || (node.type === 'Identifier' && node.local && !uses(node.local).escapes);

  const isWritten = ({ local }) => local !== undefined && uses(local).writes > 0;

  /** The body of a function with arguments in the place of its parameters, which assigns to `targets` what it returns. */
  const bodyOf = (callee, args, targets) => {
    const replaced = new Map();
    const own = usesOf({ type: 'Chunk', body: callee.body });
    const kept = keptBy(callee);
    const given = callee.parameters.flatMap(({ local, name }, i) => {
      const arg = args[i] ?? NIL;
      if (
        isSimple(arg) &&
        !(kept.has(local) && isWritten(arg)) &&
        own(local).writes === 0 &&
        !(arg.local && own(arg.local).writes > 0) &&
        !indexes(callee, local, arg)
      ) {
        replaced.set(local, arg);
        return [];
      }
      const mine = { type: 'Identifier', name, local: { name } };
      replaced.set(local, mine);
      return [{ type: 'LocalStatement', variables: [mine], init: [arg] }];
    });
    const early = returnsEarly(callee.body);
    const assigned = (node) => {
      if (node.type === 'FunctionDeclaration') return node;
      if (node.type !== 'ReturnStatement') {
        for (const [name, value] of Object.entries(node)) {
          if (name !== 'local' && Array.isArray(value)) {
            node[name] = value.flatMap((one) => (isNode(one) ? assigned(one) : one));
          }
        }
        return node;
      }
      const values = node.arguments.length > 0 ? node.arguments : targets.length > 0 ? [NIL] : [];
      const stop = early ? [{ type: 'BreakStatement' }] : [];
      if (targets.length === 0) return stop;
      return [{ type: 'AssignmentStatement', variables: targets.map((one) => ({ ...one })), init: values }, ...stop];
    };
    const body = copy(
      callee.body.length > 0 ? { type: 'DoStatement', body: callee.body } : { type: 'DoStatement', body: [] },
      replaced,
    );
    const { body: statements } = assigned(body);
    if (early && statements.at(-1)?.type === 'BreakStatement') statements.pop();
    const whole = early
      ? { type: 'RepeatStatement', body: statements, condition: bool(true) }
      : { type: 'DoStatement', body: statements };
    return given.length > 0 ? { type: 'DoStatement', body: [...given, whole] } : whole;
  };

  const statement = (node) => {
    if (node.type === 'LocalStatement') {
      const callee = assignedCallee(node);
      if (callee) return [{ ...node, init: [] }, bodyOf(callee, node.init[0].arguments, node.variables)];
    }
    if (node.type === 'AssignmentStatement') {
      const callee = assignedCallee(node);
      const plain = node.variables.every(({ type, local }) => type === 'Identifier' && local);
      if (callee && plain && alwaysReturns(callee.body)) return bodyOf(callee, node.init[0].arguments, node.variables);
    }
    if (node.type === 'CallStatement') {
      const callee = calleeOf(node.expression);
      if (callee) return bodyOf(callee, node.expression.arguments, []);
    }
    return node;
  };
  inExpressions(chunk);
  rewrite(chunk, statement);
}

/** Whether an argument cannot stand in the place of a parameter: a literal has no fields. */
function indexes(callee, local, arg) {
  if (!isLiteral(arg)) return false;
  return [...within({ type: 'Chunk', body: callee.body })].some(
    ({ type, base }) => /^(?:Index|Member)/.test(type) && base.local === local,
  );
}

/**
 * Tables of positional items that are only read at constant places become locals. What is written to other places of them is
 * dropped, as nobody reads it.
 */
function scalars(chunk) {
  const tables = new Map();
  for (const node of within(chunk)) {
    if (node.type !== 'LocalStatement' || node.variables.length !== 1) continue;
    const [init] = node.init;
    if (init?.type !== 'TableConstructorExpression' || init.fields.length < 3) continue;
    if (init.fields.every(({ type }) => type === 'TableValue')) tables.set(node.variables[0].local, node);
  }
  const isRead = ({ type, base, index }) =>
    type === 'IndexExpression' &&
    tables.has(base.local) &&
    index.type === 'NumericLiteral' &&
    index.value <= tables.get(base.local).init[0].fields.length;
  const isWrite = ({ type, variables, init }) =>
    type === 'AssignmentStatement' &&
    variables.length === 1 &&
    variables[0].type === 'IndexExpression' &&
    tables.has(variables[0].base.local) &&
    variables[0].index.type !== 'NumericLiteral' &&
    init.every(isPure);
  const visit = (node) => {
    if (node.type === 'Identifier') tables.delete(node.local); // used as a whole
    for (const child of childrenOf(node)) {
      if (declaredBy(node).includes(child)) continue;
      if (isRead(child) && !(node.type === 'AssignmentStatement' && node.variables.includes(child))) continue;
      if (!isWrite(child)) visit(child);
    }
  };
  visit(chunk);
  const items = new Map();
  for (const [local, node] of tables) {
    const { fields } = node.init[0];
    node.variables = fields.map((_, i) => {
      const name = `${local.name}${i + 1}`;
      return { type: 'Identifier', name, local: { name } };
    });
    node.init = fields.map(({ value }) => value);
    items.set(local, node.variables);
  }
  rewrite(chunk, (one) => {
    if (one.type === 'IndexExpression' && items.has(one.base.local) && one.index.type === 'NumericLiteral') {
      return { ...items.get(one.base.local)[one.index.value - 1] };
    }
    return one.type === 'AssignmentStatement' && items.has(one.variables[0].base?.local) ? [] : one;
  });
}

/**
 * Without the calls of math.floor and math.ceil, which take Redis three times as long as the arithmetic; and names such as
 * string.find where they are used, as not each run uses them all. Both are the same for every finite number below 2^53: the part
 * behind the point is exact, and below 1 the sum is rounded to 1.
 */
function withoutCalls(chunk) {
  const uses = usesOf(chunk);
  const globals = new Map();
  for (const node of within(chunk)) {
    if (node.type !== 'LocalStatement' || node.init.length !== node.variables.length) continue;
    node.variables.forEach(({ local }, i) => {
      const { type, base } = node.init[i];
      if (type === 'MemberExpression' && base.type === 'Identifier' && !base.local && uses(local).writes === 0) {
        globals.set(local, node.init[i]);
      }
    });
  }
  const one = { type: 'NumericLiteral', value: 1, raw: '1' };
  const binary = (operator, left, right) => ({ type: 'BinaryExpression', operator, left, right });
  rewrite(chunk, (node) => {
    if (node.type !== 'CallExpression' || node.arguments.length !== 1) return node;
    const { base, identifier } = globals.get(node.base.local) ?? {};
    const [x] = node.arguments;
    if (base?.name !== 'math' || !isCheap(x)) return node;
    if (identifier.name === 'floor') return binary('-', x, binary('%', another(x), one));
    if (identifier.name !== 'ceil') return node;
    return binary('+', x, binary('%', { type: 'UnaryExpression', operator: '-', argument: another(x) }, one));
  });
  rewrite(chunk, (node) => {
    if (node.type === 'LocalStatement' || node.type !== 'CallExpression') return node;
    return { ...node, base: globals.get(node.base.local) ?? node.base };
  });
}

const another = (node) => copy(node, new Map());

/** Whether an expression takes less time than a call. */
function isCheap(node) {
  const operators = new Set(['+', '-', '*', '/']);
  const all = [...within(node)];
  return (
    all.length <= 7 &&
    all.every(({ type, operator, local }) => {
      return (
        type === 'NumericLiteral' ||
        (type === 'Identifier' && local) ||
        (type === 'BinaryExpression' && operators.has(operator))
      );
    })
  );
}

/** Drops what nothing uses. */
function drop(chunk) {
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
