import { Injectable } from '@nestjs/common';
import { Database } from '../database/database.js';

export const PLANS = ['free', 'plus'] as const;

export type Plan = (typeof PLANS)[number];

export interface RiderAccount {
  readonly id: string;
  readonly plan: Plan;
  /** A name of the IANA time zone database, such as `Europe/Paris`. */
  readonly timeZone: string;
}

/** An account with what a login checks. */
export interface RiderCredentials extends RiderAccount {
  readonly email: string;
  /** See `isPassword`. */
  readonly passwordHash: string;
}

interface Question {
  readonly answer: Promise<RiderAccount | undefined>;
  readonly resolve: (account: RiderAccount | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** Ids of one query: far below the 65,535 parameters that PostgreSQL allows. */
const MAX_IDS = 1000;

/**
 * The accounts of riders. The simulated riders of `demo/riders` have none.
 *
 * Its methods throw a DatabaseUnavailableError.
 */
@Injectable()
export class RiderAccounts {
  /** The ids that the next query asks for. */
  private next = new Map<string, Question>();
  private asking = false;

  constructor(private readonly database: Database) {}

  /** Finds an account. One query answers all calls that come while another query is under way. */
  find(riderId: string): Promise<RiderAccount | undefined> {
    let question = this.next.get(riderId);
    if (question === undefined) {
      this.next.set(riderId, (question = newQuestion()));
      if (!this.asking) void this.askAll();
    }
    return question.answer;
  }

  /** @param email in any case */
  async findByEmail(email: string): Promise<RiderCredentials | undefined> {
    const row = await this.database.run((db) =>
      db.selectFrom('riders').selectAll().where('email', '=', email.toLowerCase()).executeTakeFirst(),
    );
    return row && { ...toAccount(row), email: row.email, passwordHash: row.password_hash };
  }

  /** Changes the plan; undefined for an unknown rider. Limits follow when their cached plans expire: see `limits.module.ts`. */
  async setPlan(riderId: string, plan: Plan): Promise<RiderAccount | undefined> {
    const row = await this.database.run((db) =>
      db.updateTable('riders').set({ plan }).where('id', '=', riderId).returningAll().executeTakeFirst(),
    );
    return row && toAccount(row);
  }

  private async askAll(): Promise<void> {
    this.asking = true;
    // The requests of a turn share the first query, too.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.next.size > 0) {
      const questions = this.next;
      this.next = new Map();
      const entries = [...questions];
      for (let i = 0; i < entries.length; i += MAX_IDS) await this.ask(new Map(entries.slice(i, i + MAX_IDS)));
    }
    this.asking = false;
  }

  private async ask(questions: ReadonlyMap<string, Question>): Promise<void> {
    try {
      const rows = await this.database.run((db) =>
        db
          .selectFrom('riders')
          .select(['id', 'plan', 'time_zone'])
          .where('id', 'in', [...questions.keys()])
          .execute(),
      );
      const found = new Map(rows.map((row) => [row.id, toAccount(row)]));
      for (const [id, { resolve }] of questions) resolve(found.get(id));
    } catch (error) {
      for (const { reject } of questions.values()) reject(error);
    }
  }
}

function newQuestion(): Question {
  let resolve!: Question['resolve'];
  let reject!: Question['reject'];
  const answer = new Promise<RiderAccount | undefined>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { answer, resolve, reject };
}

function toAccount({ id, plan, time_zone }: { id: string; plan: string; time_zone: string }): RiderAccount {
  return { id, plan: plan as Plan, timeZone: time_zone };
}
