import { Module } from '@nestjs/common';
import { AccountsModule } from '../accounts/accounts.module.js';
import { LoginController } from './login.controller.js';
import { PasswordCheck } from './password-check.js';

@Module({
  imports: [AccountsModule],
  controllers: [LoginController],
  providers: [PasswordCheck],
})
export class LoginModule {}
