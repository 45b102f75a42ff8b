import { Module } from '@nestjs/common';
import { RiderAccounts } from './rider-accounts.js';

@Module({
  providers: [RiderAccounts],
  exports: [RiderAccounts],
})
export class AccountsModule {}
