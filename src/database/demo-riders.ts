import type { Insertable } from 'kysely';
import type { RidersTable } from './tables.js';

/** The riders of a new database. The password of all of them is `open-sesame`: their hashes are fixed, so that boot derives none. */
export const DEMO_RIDERS: readonly Insertable<RidersTable>[] = [
  {
    id: 'rider-1',
    plan: 'free',
    time_zone: 'America/New_York',
    email: 'rider-1@example.com',
    password_hash: 'scrypt$16384$8$5$VoAWEDa6C81wTIayY0G6zw==$3AYifEOxL0MqU/56CyI6ULDCwij3fzrg/a7vq7oCB7U=',
  },
  {
    id: 'rider-2',
    plan: 'plus',
    time_zone: 'Europe/Paris',
    email: 'rider-2@example.com',
    password_hash: 'scrypt$16384$8$5$sBIH7bsZm2xPDrPLqJ163g==$jloBFpevjH8j+sUKzNI/fm06wlboxYgVgAbRjQAn6T4=',
  },
  {
    id: 'rider-3',
    plan: 'free',
    time_zone: 'Asia/Tokyo',
    email: 'rider-3@example.com',
    password_hash: 'scrypt$16384$8$5$o+gBmTv+vaxmcettg/WmLQ==$sSkn92Dxp+wm7fFaM5gWeVTROS3+ru1dpAqdKvURJjA=',
  },
  {
    id: 'rider-4',
    plan: 'plus',
    time_zone: 'America/Los_Angeles',
    email: 'rider-4@example.com',
    password_hash: 'scrypt$16384$8$5$GzROTL4/KE8lvIAo8ndbMg==$LG1wclOzun5DbxA5R2fdiR8hX/43mnelEqWA/8Li+bo=',
  },
];
