import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsString, MaxLength, MinLength } from 'class-validator';
import { normalEmail } from '../limits/account-named.js';

export class LoginDto {
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? normalEmail(value) : value))
  @IsString()
  @MinLength(3)
  @MaxLength(254)
  @ApiProperty({ minLength: 3, maxLength: 254, example: 'rider-1@example.com' })
  email: string;

  // A hash of a password of any length takes the same time, but its bytes have to be read.
  @IsString()
  @MinLength(1)
  @MaxLength(200)
  @ApiProperty({ minLength: 1, maxLength: 200, example: 'open-sesame' })
  password: string;
}
