import { ConflictException, Injectable } from '@nestjs/common';

const NORMAL = 1;
const MAX_SURGED_ZONES = 10_000;

/** The factor by which each zone's fares are multiplied. */
@Injectable()
export class SurgeFactors {
  private readonly factors = new Map<string, number>();

  of(zone: string): number {
    return this.factors.get(zone) ?? NORMAL;
  }

  set(zone: string, factor: number): void {
    if (factor === NORMAL) {
      this.factors.delete(zone);
      return;
    }
    if (!this.factors.has(zone) && this.factors.size >= MAX_SURGED_ZONES) {
      throw new ConflictException(
        `${MAX_SURGED_ZONES} zones have a surge factor, which is the most; set one of them to ${NORMAL} first`,
      );
    }
    this.factors.set(zone, factor);
  }

  /** The zones whose factor differs from the normal one. */
  zones(): Iterable<string> {
    return this.factors.keys();
  }
}
