import { Transform } from 'class-transformer';
import { IsString, MaxLength, MinLength } from 'class-validator';
import { normalEmail } from './account-named.js';

export class LoginDto {
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? normalEmail(value) : value))
  @IsString()
  @MinLength(3)
  @MaxLength(254)
  email: string;

  // A hash of a password of any length takes the same time, but its bytes have to be read.
  @IsString()
  @MinLength(1)
  @MaxLength(200)
  password: string;
}
