import type { Context } from 'aws-lambda';
import { handler } from '../../../functions/change-poll.ts';

// A container of change-poll as a process of its own, to be killed: one invocation, told on stdout.
const endMs = Date.now() + 60_000;
const context = { getRemainingTimeInMillis: () => endMs - Date.now() } as Context;
process.stdout.write(`${JSON.stringify({ summary: await handler({}, context) })}\n`);
