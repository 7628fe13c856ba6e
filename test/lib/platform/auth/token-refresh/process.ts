import type { Context } from 'aws-lambda';
import { handler } from '../../../../../functions/token-refresh.ts';

// A container of token-refresh as a process of its own, to be killed: one invocation, told on stdout.
const endMs = Date.now() + 60_000;
const context = { getRemainingTimeInMillis: () => endMs - Date.now() } as Context;
const summary = await handler({}, context);
process.stdout.write(`${JSON.stringify({ summary })}\n`);
