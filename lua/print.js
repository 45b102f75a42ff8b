// Prints the statements of a Lua program, as luaparse has read them and inline.js has changed them.

/** How closely operators bind. https://www.lua.org/manual/5.1/manual.html#2.5.6 */
const RANKS = Object.fromEntries(
  ['or', 'and', '< > <= >= ~= ==', '..', '+ -', '* / %', '', '^'].flatMap((same, i) =>
    same.split(' ').map((one) => [one, i]),
  ),
);
const UNARY = 6;

function rankOf({ type, operator }) {
  if (type === 'UnaryExpression') return UNARY;
  if (type === 'FunctionDeclaration') return -1;
  return RANKS[type === 'BinaryExpression' || type === 'LogicalExpression' ? operator : undefined] ?? Infinity;
}

/** The names of identifiers that are no locals. */
function globalsIn(value) {
  if (typeof value !== 'object' || value === null) return [];
  if (value.type === 'Identifier') return value.local ? [] : [value.name];
  const parts = Object.entries(value).filter(([name]) => name !== 'identifier' && name !== 'key');
  // The key of `{ [key] = value }` is an expression, that of `{ key = value }` is a name.
  const keys = value.type === 'TableKey' ? [value.key] : [];
  return [...parts.map(([, part]) => part), ...keys].flatMap(globalsIn);
}

/** The locals that are globals by their own names, as in `local redis = redis`: they may hide them. */
function aliasesIn(value) {
  if (typeof value !== 'object' || value === null) return [];
  const own = value.type === 'LocalStatement' ? value.variables : [];
  const aliases = own.filter(({ name }, i) => value.init[i]?.name === name && !value.init[i].local);
  return [...aliases.map(({ local }) => local), ...Object.values(value).flatMap(aliasesIn)];
}

/** The text of statements. */
export function print(body) {
  const names = new Map();
  // A local must not hide a global where a function was put in the place of its call.
  const taken = new Set(globalsIn(body));
  for (const local of aliasesIn(body)) if (![...names.values()].includes(local.name)) names.set(local, local.name);
  const nameOf = ({ name, local }) => {
    if (!local) return name;
    if (!names.has(local)) {
      let free = local.name;
      for (let i = 2; taken.has(free); i++) free = `${local.name}${i}`.replace(/(\d)(\d)$/, '$1_$2');
      taken.add(free);
      names.set(local, free);
    }
    return names.get(local);
  };
  const list = (nodes) => nodes.map(expression).join(', ');
  const part = (node, above) => (rankOf(node) < above ? `(${expression(node)})` : expression(node));
  const prefix = (node) =>
    /^(?:Identifier|Index|Member|Call|StringCall|TableCall)/.test(node.type)
      ? expression(node)
      : `(${expression(node)})`;
  const expression = (node) => {
    const text = bare(node);
    return node.isFirst && /^(?:Call|StringCall|TableCall|Vararg)/.test(node.type) ? `(${text})` : text;
  };
  const bare = (node) => {
    switch (node.type) {
      case 'Identifier':
        return nameOf(node);
      case 'NumericLiteral':
      case 'StringLiteral':
      case 'BooleanLiteral':
      case 'NilLiteral':
      case 'VarargLiteral':
        return node.raw;
      case 'BinaryExpression':
      case 'LogicalExpression':
        return binary(node);
      case 'UnaryExpression':
        return `${node.operator}${node.operator === 'not' ? ' ' : ''}${part(node.argument, UNARY + 1)}`;
      case 'IndexExpression':
        return `${prefix(node.base)}[${expression(node.index)}]`;
      case 'MemberExpression':
        return `${prefix(node.base)}${node.indexer}${node.identifier.name}`;
      case 'CallExpression':
        return `${prefix(node.base)}(${list(node.arguments)})`;
      case 'TableCallExpression':
        return `${prefix(node.base)}${expression(node.arguments)}`;
      case 'StringCallExpression':
        return `${prefix(node.base)}(${expression(node.argument)})`;
      case 'TableConstructorExpression':
        return `{ ${node.fields.map(field).join(', ')} }`;
      case 'FunctionDeclaration':
        return `function(${list(node.parameters)})\n${block(node.body)}end`;
      default:
        throw new Error(`no way to print ${node.type}`);
    }
  };
  const binary = ({ left, operator, right }) => {
    const rank = RANKS[operator];
    const isRight = operator === '..' || operator === '^';
    return `${part(left, isRight ? rank + 1 : rank)} ${operator} ${part(right, isRight ? rank : rank + 1)}`;
  };
  const field = ({ type, key, value }) => {
    if (type === 'TableValue') return expression(value);
    return type === 'TableKeyString'
      ? `${key.name} = ${expression(value)}`
      : `[${expression(key)}] = ${expression(value)}`;
  };
  const block = (nodes) => nodes.map((node) => `${statement(node)}\n`).join('');
  const clause = ({ type, condition, body: inner }) => {
    const head = { IfClause: 'if', ElseifClause: 'elseif', ElseClause: 'else' }[type];
    return `${head}${condition ? ` ${expression(condition)} then` : ''}\n${block(inner)}`;
  };
  const statement = (node) => {
    switch (node.type) {
      case 'LocalStatement':
        return `local ${list(node.variables)}${node.init.length > 0 ? ` = ${list(node.init)}` : ''}`;
      case 'AssignmentStatement':
        return `${list(node.variables)} = ${list(node.init)}`;
      case 'CallStatement':
        return expression(node.expression);
      case 'ReturnStatement':
        return `return ${list(node.arguments)}`;
      case 'BreakStatement':
        return 'break';
      case 'DoStatement':
        return `do\n${block(node.body)}end`;
      case 'WhileStatement':
        return `while ${expression(node.condition)} do\n${block(node.body)}end`;
      case 'RepeatStatement':
        return `repeat\n${block(node.body)}until ${expression(node.condition)}`;
      case 'ForNumericStatement':
        return `for ${nameOf(node.variable)} = ${list([node.start, node.end, ...(node.step ? [node.step] : [])])} do\n${block(node.body)}end`;
      case 'ForGenericStatement':
        return `for ${list(node.variables)} in ${list(node.iterators)} do\n${block(node.body)}end`;
      case 'IfStatement':
        return `${node.clauses.map(clause).join('')}end`;
      case 'FunctionDeclaration': {
        const name = node.isLocal
          ? `local function ${nameOf(node.identifier)}`
          : `function ${expression(node.identifier)}`;
        return `${name}(${list(node.parameters)})\n${block(node.body)}end`;
      }
      default:
        throw new Error(`no way to print ${node.type}`);
    }
  };
  return block(body);
}
