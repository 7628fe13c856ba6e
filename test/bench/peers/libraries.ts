import { createHmac } from 'node:crypto';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { Pool } from 'undici';
import * as z from 'zod';

// The least that a function can load which reads its keys from Secrets Manager, checks its messages, signs and sends. It does none of
// it.

const message = z.object({ id: z.string() });
const secrets = new SecretsManagerClient();
const pool = new Pool(process.env.PLATFORM_URL ?? '');

export const handler = async () => ({ message, secrets, GetSecretValueCommand, createHmac, pool });
