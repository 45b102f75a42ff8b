// Floodgate beside its peers: npm run bench -- [--quick | --smoke] [--json] [--only <name prefix>]. See README.md.
import { runBench } from './command.js';
import { FLOORS } from './floors.js';
import { SCENARIOS } from './scenarios/index.js';

await runBench({ command: 'npm run bench', floors: FLOORS, scenarios: SCENARIOS });
