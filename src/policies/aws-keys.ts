import * as z from 'zod'
import { type SecretRef, secretText } from '../model/secret.ts'
import { secret } from './materials.ts'
import { issue } from './shapes.ts'

/* AWS credentials in the configuration; if absent, those of the environment apply. */

export interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string | undefined
}

interface AwsKeys {
  readonly accessKeyId?: string | undefined
  readonly secretAccessKey?: SecretRef | undefined
  readonly sessionToken?: SecretRef | undefined
}

/** `about`: the description of the id. */
export const awsKeys = (about: string) => ({
  accessKeyId: z
    .string()
    .regex(/^[A-Za-z0-9]{4,128}$/)
    .optional()
    .describe(about),
  secretAccessKey: secret().optional().describe('The secret access key: a string or `{file}`.'),
  sessionToken: secret().optional().describe('The session token of temporary credentials.'),
})

/** Half a credential cannot sign, and must not fall back to that of the environment. */
export const areWhole: z.core.CheckFn<AwsKeys> = ({ value, issues }) => {
  const { accessKeyId, secretAccessKey, sessionToken } = value
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return
  if ((accessKeyId ?? secretAccessKey ?? sessionToken) === undefined) return
  const hint = 'set both `accessKeyId` and `secretAccessKey`, or neither'
  const missing = accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey'
  issues.push(issue(value, `\`${missing}\` is missing`, { rule: 'missing', hint }))
}

/** Undefined: the configuration contains none. */
export function writtenCredentials(keys: AwsKeys): AwsCredentials | undefined {
  const { accessKeyId, secretAccessKey, sessionToken } = keys
  if (accessKeyId === undefined) return undefined
  return {
    accessKeyId,
    secretAccessKey: (secretAccessKey && secretText(secretAccessKey)?.trim()) ?? '',
    sessionToken: sessionToken && secretText(sessionToken)?.trim(),
  }
}
