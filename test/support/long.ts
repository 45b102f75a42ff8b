/** Whether the long tests run: `npm run test:all` sets `LONG_TESTS=1`. `npm test` proves the same promises with fewer repetitions. */
export const LONG = process.env['LONG_TESTS'] === '1';
