import * as z from 'zod'
import { type SecretRef, secretText } from '../model/secret.ts'
import { secret } from './materials.ts'
import { issue } from './shapes.ts'
import type { AwsCredentials } from './sigv4.ts'

/* Credentials of AWS as they are written; without any, those of the environment count. */

interface AwsKeys {
  readonly accessKeyId?: string | undefined
  readonly secretAccessKey?: SecretRef | undefined
  readonly sessionToken?: SecretRef | undefined
}

/** `about`: what is said of the id. */
export const awsKeys = (about: string) => ({
  accessKeyId: z
    .string()
    .regex(/^[A-Za-z0-9]{4,128}$/)
    .optional()
    .describe(about),
  secretAccessKey: secret().optional().describe('The secret access key: a string or `{file}`.'),
  sessionToken: secret().optional().describe('The session token of temporary credentials.'),
})

/** Half of a credential signs nothing, and must not become that of the environment. */
export const areWhole: z.core.CheckFn<AwsKeys> = ({ value, issues }) => {
  const { accessKeyId, secretAccessKey, sessionToken } = value
  if (accessKeyId !== undefined && secretAccessKey !== undefined) return
  if ((accessKeyId ?? secretAccessKey ?? sessionToken) === undefined) return
  const hint = 'set both `accessKeyId` and `secretAccessKey`, or neither'
  const missing = accessKeyId === undefined ? 'accessKeyId' : 'secretAccessKey'
  issues.push(issue(value, `\`${missing}\` is missing`, { rule: 'missing', hint }))
}

/** Undefined: none are written. */
export function writtenCredentials(keys: AwsKeys): AwsCredentials | undefined {
  const { accessKeyId, secretAccessKey, sessionToken } = keys
  if (accessKeyId === undefined) return undefined
  return {
    accessKeyId,
    secretAccessKey: (secretAccessKey && secretText(secretAccessKey)?.trim()) ?? '',
    sessionToken: sessionToken && secretText(sessionToken)?.trim(),
  }
}
