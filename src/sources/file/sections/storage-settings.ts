import * as z from 'zod'

import { choice, settingSecret } from '../../../policies/schema.ts'

export const storageSettings = z
  .strictObject({
    mode: choice('readonly', 'database', 'file', 'hybrid')
      .prefault('readonly')
      .describe(
        'readonly: this file is the only source. database: this file is a baseline, and changes ' +
          'made through the admin API are stored in `config.database`.',
      ),
  })
  .prefault({})
  .describe('Where changes made through the admin API are stored.')

export const databaseSettings = z
  .strictObject({
    url: settingSecret().describe('postgres://…'),
    maxConnections: z.int().min(1).max(1000).prefault(5).describe('Max open connections.'),
    stateFile: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'A local copy of the stored changes, used to start while the database is unavailable. Relative ' +
          'paths are resolved against the folder of the configuration file. Secrets in it are encrypted.',
      ),
  })
  .optional()
  .describe(
    'The PostgreSQL database for `storage.mode: database`. In every mode, it also counts the ' +
      'budgets of model calls, across all replicas.',
  )

export const budgetSettings = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'A file that keeps usage across restarts and crashes, for a single gateway. Relative ' +
          'paths are resolved against the folder of the configuration file. Takes precedence over `database`.',
      ),
  })
  .prefault({})
  .describe('Where the budget usage of model calls is stored. Default: in memory.')

export const userTokenSettings = z
  .strictObject({
    file: z
      .string()
      .min(1)
      .max(4096)
      .optional()
      .describe(
        'A file that keeps the tokens across restarts, for a single gateway. Relative paths are ' +
          'resolved against the folder of the configuration file. Takes precedence over `database`. Requires `session.key`.',
      ),
  })
  .prefault({})
  .describe(
    'Where user tokens for backends (`backendAuth.oauthUserToken`) are stored, encrypted. ' +
      'Default: in memory.',
  )
