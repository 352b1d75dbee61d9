import * as z from 'zod'

import { choice, settingSecret } from '../../../policies/schema.ts'

export const storageSettings = z
  .strictObject({
    mode: choice('readonly', 'database', 'file', 'hybrid')
      .prefault('readonly')
      .describe(
        'readonly: this file and nothing else. database: this file is a baseline, and changes ' +
          'made by the admin API are stored in `config.database`.',
      ),
  })
  .prefault({})
  .describe('Where changes made by the admin API go.')

export const databaseSettings = z
  .strictObject({
    url: settingSecret().describe('postgres://…'),
    maxConnections: z.int().min(1).max(1000).prefault(5).describe('Connections at once.'),
    stateFile: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'A file with what was stored last, for a start while the database is away; a relative ' +
          'path starts at the folder of this one. Secrets in it are encrypted.',
      ),
  })
  .optional()
  .describe(
    'The PostgreSQL database of `storage.mode: database`. Budgets of calls to models are counted ' +
      'there in any mode, for all replicas together.',
  )

export const budgetSettings = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'A file that keeps what was used over restarts and crashes, for one gateway at a time; a ' +
          'relative path starts at the folder of this one. It is used instead of `database`.',
      ),
  })
  .prefault({})
  .describe('Where it is kept what calls to models used of budgets; by default in memory.')

export const userTokenSettings = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'A file that keeps the tokens over restarts, for one gateway at a time; a relative path ' +
          'starts at the folder of this one. It is used instead of `database`. Needs `session.key`.',
      ),
  })
  .prefault({})
  .describe(
    'Where tokens of users for backends (`backendAuth.oauthUserToken`) are kept, encrypted; by ' +
      'default in memory.',
  )
