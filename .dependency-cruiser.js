// Dependencies point one way: each folder of a package may import those before it in FOLDERS or NEST_FOLDERS, and each room those that
// ROOMS gives it. The Nest module imports the engine by the names of its entry points.
const LIBRARY = '^libs/floodgate/src/';
const NEST = '^libs/nest/src/';
const CLIENT = '^libs/client/src/';
/** The files at the root of a package's sources are its entry points. */
const ENTRY = '[\\w-]+\\.ts$';
/** The types of the engine, with Nest's context. */
const NEST_TYPES = `${NEST}types\\.ts$`;
/** What only shows: the live page, the playground, and what they share with the load generator. */
const HOUSES = '^demo/(?!surge/)';
const SURGE = '^demo/surge/';
const SPEC = '\\.spec\\.ts$';
const STAGE_REDIS = '^demo/control-room/stage-redis\\.ts$';

/** The folders of the engine. Each may import those before it. */
const FOLDERS = [
  'util',
  'shedding',
  'algorithms',
  'stores',
  'identity',
  'policy',
  'charges',
  'watch',
  'functions',
  'layers',
  'holds',
  'engine',
  'http',
  'scheduling',
  'operate',
  'limiter',
  'outbound',
  'llm',
  'servers',
  'testing',
];

/** The folders of the Nest module. Each may import those before it. */
const NEST_FOLDERS = [
  'handlers',
  'decorators',
  'exceptions',
  'exchanges',
  'contexts',
  'options',
  'routes',
  'shed',
  'decisions',
  'guard',
  'boot',
  'binding',
  'openapi',
  'module',
  'admin',
  'testing',
  'throttler',
];

/** The rooms of a folder, and the rooms beside them that each may import. A room of no list stands alone. */
const ROOMS = {
  layers: {
    overrides: [],
    denials: [],
    estimates: [],
    prefetch: [],
    pauses: [],
    alternatives: ['overrides'],
    deadline: [],
    plain: ['overrides', 'estimates'],
  },
  holds: {
    waiting: [],
    leases: [],
    settlements: [],
    expiry: ['settlements'],
    pending: ['leases', 'settlements'],
  },
  operate: {
    identities: [],
    overrides: ['identities'],
    plans: ['overrides', 'identities'],
    explain: ['overrides', 'identities'],
  },
  watch: { rejected: [], thresholds: [], publish: [] },
  engine: { calls: [], requests: [] },
  'stores/redis': {
    clients: [],
    batch: ['clients'],
    connection: ['batch', 'clients'],
    cluster: ['connection', 'batch', 'clients'],
  },
};

/**
 * The rooms that the files beside them use, and which use none of these files but for types. All other rooms use the files beside
 * them, and are used by none of them.
 */
const USED_BY_ROOT = {
  algorithms: '[^/]+',
  http: '[^/]+',
  operate: '[^/]+',
  'stores/redis': '[^/]+',
  watch: 'rejected',
};

const folder = (...names) => `${LIBRARY}(?:${names.join('|')})/`;
const nestFolder = (...names) => `${NEST}(?:${names.join('|')})/`;

const layersOf = (prefix, root, names, allowed, within) =>
  names.map((name, i) => ({
    name: `direction-${prefix}${name}`,
    comment: `${name}/ may import of its package ${i === 0 ? 'no other folder' : names.slice(0, i).join(', ')}`,
    severity: 'error',
    from: { path: within(name), pathNot: SPEC },
    to: { path: root, pathNot: [...allowed, within(...names.slice(0, i + 1))] },
  }));
const layers = [
  ...layersOf('', LIBRARY, FOLDERS, [], folder),
  ...layersOf('nest-', NEST, NEST_FOLDERS, [NEST_TYPES], nestFolder),
];

/** An algorithm's folder imports `core` alone, but these. */
const ALGORITHMS = `${LIBRARY}algorithms/`;
const BUILT_ON = { 'token-bucket': 'bucket', 'leaky-bucket': 'bucket', concurrency: 'sliding-window-log' };
const algorithms = [['([^/]+)', '$1'], ...Object.entries(BUILT_ON)].map(([name, other], i) => ({
  name: `direction-algorithms-${i === 0 ? 'core' : name}`,
  comment: `algorithms/${i === 0 ? '' : `${name}/`} may import core${i === 0 ? '' : ` and ${other}`} of the folders beside it`,
  severity: 'error',
  from: {
    path: `${ALGORITHMS}${name}/`,
    pathNot: i === 0 ? [SPEC, folder(...Object.keys(BUILT_ON).map((one) => `algorithms/${one}`))] : SPEC,
  },
  to: { path: `${ALGORITHMS}[^/]+/`, pathNot: `${ALGORITHMS}(?:${name === '([^/]+)' ? '$1' : name}|${other}|core)/` },
}));

const REDIS = `${LIBRARY}stores/redis/`;
const rooms = Object.entries(ROOMS).flatMap(([name, beside]) =>
  Object.entries(beside).map(([room, others]) => ({
    name: `direction-${name.replace('/', '-')}-${room}`,
    comment: `${name}/${room}/ may import of the rooms beside it ${others.length === 0 ? 'none' : others.join(', ')}`,
    severity: 'error',
    from: { path: folder(`${name}/${room}`), pathNot: SPEC },
    to: { path: `${folder(name)}[^/]+/`, pathNot: folder(...[room, ...others].map((one) => `${name}/${one}`)) },
  })),
);

const filesOf = (name) => `${folder(name)}[^/]+\\.ts$`;
const besideRooms = [...new Set([...FOLDERS, ...Object.keys(ROOMS)])].flatMap((name) => {
  const used = USED_BY_ROOT[name] ?? '(?!)';
  return [
    {
      name: `direction-${name.replace('/', '-')}-files`,
      severity: 'error',
      comment: `The files of ${name}/ may import of its rooms only those of USED_BY_ROOT, and types`,
      from: { path: filesOf(name), pathNot: SPEC },
      to: {
        path: `${folder(name)}[^/]+/`,
        pathNot: `${folder(name)}(?:${used})/`,
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: `direction-${name.replace('/', '-')}-used-rooms`,
      severity: 'error',
      comment: `The files of ${name}/ use this room: it may import their types alone`,
      from: { path: `${folder(name)}(?:${used})/`, pathNot: SPEC },
      to: { path: filesOf(name), dependencyTypesNot: ['type-only'] },
    },
  ];
});

/** Files that must not exist: each is found by what imports it, by what it imports, or as an orphan. */
const banned = (name, comment, files) => [
  { name, comment, severity: 'error', from: {}, to: files },
  { name: `${name}-imports`, comment, severity: 'error', from: files, to: {} },
  { name: `${name}-orphan`, comment, severity: 'error', from: { ...files, orphan: true }, to: {} },
];

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...layers,
    ...rooms,
    ...besideRooms,
    ...algorithms,
    {
      name: 'nest-by-name',
      comment:
        "The Nest module imports the engine by its entry points: 'floodgate' for what users may name, else 'floodgate/internal'",
      severity: 'error',
      from: { path: NEST, pathNot: SPEC },
      to: { path: LIBRARY, pathNot: `${LIBRARY}${ENTRY}` },
    },
    {
      name: 'engine-without-entries',
      comment: 'No file of a package imports its entry points',
      severity: 'error',
      from: { path: [LIBRARY, NEST], pathNot: [SPEC, `${LIBRARY}internal\\.ts$`] },
      to: { path: [`${LIBRARY}${ENTRY}`, `${NEST}${ENTRY}`], pathNot: NEST_TYPES, dependencyTypesNot: ['aliased'] },
    },
    {
      name: 'client-alone',
      comment:
        'The client runs in browsers: it may import util of the library, which its build includes with the package ms, and no other package nor a module of Node',
      severity: 'error',
      from: { path: CLIENT, pathNot: SPEC },
      to: { pathNot: [CLIENT, folder('util')] },
    },
    {
      name: 'library-without-client',
      comment: 'The client is a package of its own',
      severity: 'error',
      from: { path: [LIBRARY, NEST] },
      to: { path: '^libs/client/' },
    },
    ...banned('library-typescript', 'The sources of the packages are TypeScript: this is the output of a compiler', {
      path: '^libs/(?:floodgate|nest|client)/src/.*\\.[cm]?js$',
    }),
    ...banned('library-folders', 'A new folder needs its place in the direction: add it to FOLDERS or NEST_FOLDERS', {
      path: `^libs/(?:floodgate|nest)/src/[^/]+/`,
      pathNot: [folder(...FOLDERS), nestFolder(...NEST_FOLDERS)],
    }),
    ...Object.entries(ROOMS).flatMap(([name, beside]) =>
      banned(
        `rooms-${name.replace('/', '-')}`,
        `A new room of ${name}/ needs its place in the direction: add it to ROOMS`,
        {
          path: `${folder(name)}[^/]+/`,
          pathNot: folder(...Object.keys(beside).map((room) => `${name}/${room}`)),
        },
      ),
    ),
    {
      name: 'library-without-frameworks',
      comment: 'The engine runs without Nest',
      severity: 'error',
      from: { path: LIBRARY, pathNot: SPEC },
      to: { path: ['(?:^|/)@nestjs/', NEST] },
    },
    {
      name: 'redis-client-port',
      comment: 'The store on Redis knows its clients by the port alone: stores/redis/clients/client.ts',
      severity: 'error',
      from: { path: REDIS, pathNot: [`${REDIS}clients/`, SPEC] },
      to: { path: `${REDIS}clients/(?:ioredis-|node-redis|open-|connector|lookup|redis-options)` },
    },
    {
      name: 'redis-clients-only',
      comment: 'Only stores/redis/clients/ imports a client library',
      severity: 'error',
      from: { path: LIBRARY, pathNot: [`${REDIS}clients/`, SPEC] },
      to: {
        path: '(?:^|/)(?:ioredis|redis|@redis/[^/]+)(?:/|$)',
        dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg'],
      },
    },
    {
      name: 'library-alone',
      comment: 'The library imports nothing from the application, the load generator, the tests or the tools',
      severity: 'error',
      from: { path: [LIBRARY, NEST, CLIENT], pathNot: SPEC },
      to: { path: '^(?:src|demo|lab|simulate|test|tools|bench)/' },
    },
    {
      name: 'library-cycles',
      comment:
        'No cycles in the library but those of types within a folder: the directions above hold for types as well',
      severity: 'error',
      from: { path: [LIBRARY, NEST, CLIENT], pathNot: SPEC },
      to: { circular: true, viaOnly: { path: [LIBRARY, NEST, CLIENT], dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'library-loads-later',
      comment: 'The library loads its own modules later in these places alone: libs/README.md, "What is loaded when"',
      severity: 'error',
      from: {
        path: [LIBRARY, NEST],
        pathNot: [
          `${NEST}(?:module/rate-limit|admin/rate-limit-admin)\\.module\\.ts$`,
          `${LIBRARY}limiter/(?:create-limiter|open-store)\\.ts$`,
          `${LIBRARY}outbound/limited-(?:axios|fetch)\\.ts$`,
          `${LIBRARY}stores/redis/redis\\.store\\.ts$`,
          `${LIBRARY}watch/publish/publishers\\.ts$`,
          SPEC,
        ],
      },
      to: { path: [LIBRARY, NEST], dynamic: true },
    },
    {
      name: 'library-by-name',
      comment:
        "The application and the load generator import the library as users do: from 'nestjs-floodgate'. The playground runs its pure layers in the browser",
      severity: 'error',
      from: { path: ['^(?:src|demo)/'], pathNot: ['^demo/(?:hero|playground)/model/library\\.ts$', SPEC] },
      to: { path: '^libs/', dependencyTypesNot: ['aliased', 'npm', 'npm-dev'] },
    },
    {
      name: 'playground-pure',
      comment:
        "The playground's model runs in browsers: it may import the pure layers of the library, and no module of Node",
      severity: 'error',
      from: { path: '^demo/playground/(?:model|page)/', pathNot: SPEC },
      to: {
        pathNot: [
          '^demo/(?:palette|playground/(?:model|page))/',
          folder('algorithms', 'policy', 'stores', 'util'),
          'tinyqueue',
        ],
      },
    },
    {
      name: 'hero-pure',
      comment: "The hero runs in browsers: it may import the pure layers of the library, and the riders' patience",
      severity: 'error',
      from: { path: '^demo/hero/', pathNot: SPEC },
      to: {
        pathNot: [
          '^demo/(?:hero|palette)/',
          folder('algorithms', 'stores', 'util'),
          '^demo/riders/(?:rider|mulberry32)\\.ts$',
        ],
      },
    },
    {
      name: 'explained-pure',
      comment:
        'The figures of "Rate limiting, explained" run in browsers: they are made of the models of the hero and the playground',
      severity: 'error',
      from: { path: '^demo/explained/', pathNot: SPEC },
      to: { pathNot: '^demo/(?:explained|(?:hero|playground)/model)/' },
    },
    {
      name: 'tests-without-surge',
      comment: 'What tests and the load generator share is in tools/',
      severity: 'error',
      from: { path: '^test/' },
      to: { path: SURGE },
    },
    {
      name: 'surge-alone',
      comment: 'The load generator asks the application over HTTP alone, as its clients do',
      severity: 'error',
      from: { path: SURGE, pathNot: SPEC },
      to: { path: '^(?:src|simulate|test|bench)/|^demo/(?!(?:processes|riders|surge)/)' },
    },
    {
      name: 'surge-apart',
      comment: 'Neither the application nor the library imports the load generator',
      severity: 'error',
      from: { path: '^(?:src|libs)/', pathNot: SPEC },
      to: { path: SURGE },
    },
    {
      name: 'simulate-alone',
      comment: 'The simulation imports the library, and only tests import the simulation',
      severity: 'error',
      from: { path: '^(?:src|demo|libs|lab|tools|bench)/' },
      to: { path: '^simulate/' },
    },
    {
      name: 'simulate-library-only',
      comment:
        'The simulation runs the engine of the library without Nest, and knows of the rest only how options are read',
      severity: 'error',
      from: { path: '^simulate/', pathNot: SPEC },
      to: {
        path: ['^(?:src|demo|test|tools|bench)/', '(?:^|/)@nestjs/', NEST, CLIENT],
        pathNot: '^tools/command-line\\.js$',
      },
    },
    {
      name: 'application-one-way',
      comment: 'The folders of the application depend on each other in one direction',
      severity: 'error',
      scope: 'folder',
      from: { path: '^src/[^/]+$' },
      to: { circular: true, path: '^src/' },
    },
    {
      name: 'application-alone',
      comment: 'The application imports neither tests nor tools',
      severity: 'error',
      from: { path: '^src/', pathNot: SPEC },
      to: { path: '^(?:test|tools)/' },
    },
    {
      name: 'stage-redis-tools',
      // A second way to start a Redis would be a copy of 200 lines about ports, readiness and the end of processes.
      comment:
        'The stage of the control room starts its Redis with the tools that the load generator and the tests use',
      severity: 'error',
      from: { path: STAGE_REDIS },
      to: { path: '^(?:test|tools)/', pathNot: '^tools/(?:redis-server|programs)\\.ts$' },
    },
    {
      name: 'houses-without-tools',
      comment: 'Only the stage of the control room starts a Redis',
      severity: 'error',
      from: { path: HOUSES, pathNot: [SPEC, STAGE_REDIS] },
      to: { path: '^tools/' },
    },
    {
      name: 'application-without-room',
      comment: 'The application imports the control room in its root module, and passes it what it needs in one file',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(?:app\\.module|control-room|world\\.main)\\.ts$', SPEC] },
      to: { path: HOUSES },
    },
    {
      name: 'houses-alone',
      comment:
        'Control room, playground, riders and processes know nothing of the application: it passes what they need',
      severity: 'error',
      from: { path: HOUSES, pathNot: SPEC },
      to: { path: ['^(?:src|simulate|test|bench)/', SURGE] },
    },
    {
      name: 'playground-alone',
      comment: 'The playground imports neither the control room nor the riders',
      severity: 'error',
      from: { path: '^demo/playground/', pathNot: SPEC },
      to: { path: '^demo/(?:control-room|riders|processes)/|^tools/' },
    },
    {
      name: 'riders-alone',
      comment: 'Riders and child processes import nothing of the repository',
      severity: 'error',
      from: { path: '^demo/(riders|processes)/', pathNot: SPEC },
      to: { path: '^(?:libs|demo|tools)/', pathNot: '^demo/$1/' },
    },
    {
      name: 'textbook-alone',
      comment: 'The oracle shares nothing with what it judges, and imports nothing of the repository',
      severity: 'error',
      from: { path: '^lab/textbook/', pathNot: SPEC },
      to: { pathNot: '^lab/textbook/' },
    },
    {
      name: 'trial-alone',
      comment: 'The trial is to be a repository of its own: its adapters of Floodgate alone know the library',
      severity: 'error',
      from: { path: '^lab/trial/', pathNot: [SPEC, '^lab/trial/(?:adapters/floodgate|vectors/)'] },
      to: {
        path: '^(?:libs|src|demo|lab|simulate|test|bench|tools)/',
        pathNot: ['^lab/trial/', '^tools/(?:(?:redis-server|programs)\\.ts|command-line\\.js)$'],
        dependencyTypesNot: ['npm', 'npm-dev'],
      },
    },
    {
      name: 'textbook-for-tests',
      comment: 'Only the tests and the simulation ask the oracle',
      severity: 'error',
      from: { path: '^(?:src|demo|tools|bench|libs)/', pathNot: SPEC },
      to: { path: '^lab/textbook/' },
    },
    {
      name: 'spec-alone',
      comment:
        'The models share nothing with what their traces judge: they import the tools alone, and tests import them',
      severity: 'error',
      from: { path: '^lab/spec/' },
      to: { pathNot: ['^lab/spec/', '^tools/(?:programs\\.ts|command-line\\.js)$'], dependencyTypesNot: ['core'] },
    },
    {
      name: 'spec-for-tests',
      comment: 'Only tests read the models and their traces',
      severity: 'error',
      from: { path: '^(?:src|demo|simulate|tools|bench|libs)/' },
      to: { path: '^lab/spec/' },
    },
    {
      name: 'tools-alone',
      comment: 'The tools know nothing of the rest',
      severity: 'error',
      from: { path: '^tools/' },
      to: { path: '^(?:libs|src|demo|lab|simulate|test|bench)/' },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    // Imports of types count: they tie folders together as well.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '(?:^|/)(?:dist|node_modules/(?!@nestjs/))' },
    enhancedResolveOptions: { conditionNames: ['import', 'types', 'node', 'default'] },
  },
};
