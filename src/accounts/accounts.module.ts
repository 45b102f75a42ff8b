import { Module } from '@nestjs/common';
import { AccountsController } from './accounts.controller.js';
import { RiderAccounts } from './rider-accounts.js';

@Module({
  controllers: [AccountsController],
  providers: [RiderAccounts],
  exports: [RiderAccounts],
})
export class AccountsModule {}
