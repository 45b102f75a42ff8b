/** An exact rational number: the arithmetic of the oracles. */
export class Fraction {
  static readonly zero = new Fraction(0n);

  private constructor(
    private readonly numerator: bigint,
    private readonly denominator: bigint = 1n,
  ) {}

  static of(numerator: bigint | number, denominator: bigint | number = 1n): Fraction {
    const [n, d] = [BigInt(numerator), BigInt(denominator)];
    const divisor = gcd(n < 0n ? -n : n, d);
    return new Fraction(n / divisor, d / divisor);
  }

  plus(other: Fraction): Fraction {
    const { numerator: a, denominator: b } = this;
    return Fraction.of(a * other.denominator + other.numerator * b, b * other.denominator);
  }

  minus(other: Fraction): Fraction {
    return this.plus(new Fraction(-other.numerator, other.denominator));
  }

  times(other: Fraction): Fraction {
    return Fraction.of(this.numerator * other.numerator, this.denominator * other.denominator);
  }

  /** By a fraction greater than 0. */
  over(other: Fraction): Fraction {
    return Fraction.of(this.numerator * other.denominator, this.denominator * other.numerator);
  }

  /** Less than 0, 0 or more than 0, as this is less than, equal to or more than `other`. */
  compare(other: Fraction): number {
    const difference = this.numerator * other.denominator - other.numerator * this.denominator;
    return difference < 0n ? -1 : Number(difference > 0n);
  }

  atMost(other: Fraction): boolean {
    return this.compare(other) <= 0;
  }

  max(other: Fraction): Fraction {
    return this.compare(other) < 0 ? other : this;
  }

  min(other: Fraction): Fraction {
    return this.compare(other) > 0 ? other : this;
  }

  floor(): bigint {
    const quotient = this.numerator / this.denominator;
    return quotient * this.denominator > this.numerator ? quotient - 1n : quotient;
  }

  ceil(): bigint {
    const floor = this.floor();
    return floor * this.denominator === this.numerator ? floor : floor + 1n;
  }
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}
