import * as z from 'zod'
import type { SecretRef } from '../model/secret.ts'
import { secret } from './materials.ts'
import { keyText } from './sent-key.ts'
import { oneOfKeys } from './shapes.ts'

/** The identity for which the gateway requests tokens from Microsoft Entra ID. */
export type AzureIdentity = { readonly scope?: string } & (
  | {
      readonly kind: 'clientSecret'
      readonly tenantId: string
      readonly clientId: string
      readonly clientSecret: SecretRef
    }
  | { readonly kind: 'managedIdentity'; readonly user?: UserAssigned }
  /**
   * From the environment: the token of the pod in Kubernetes, a secret, or the machine's identity.
   */
  | { readonly kind: 'workloadIdentity' | 'implicit' }
)

/** A machine may have several identities; `by` is the parameter that selects one. */
export interface UserAssigned {
  readonly by: 'client_id' | 'object_id' | 'msi_res_id'
  readonly id: string
}

const id = () =>
  z
    .string()
    .min(1)
    .max(1024)
    .regex(/^[!-~]+$/)

const clientSecret = () => {
  const [tenant, client] = [id().describe('The tenant ID.'), id().describe('The client ID.')]
  const own = secret().describe('The client secret: a string or `{file}`.')
  return z
    .union([
      z.strictObject({ tenantId: tenant, clientId: client, clientSecret: own }),
      z
        .strictObject({ tenant_id: tenant, client_id: client, client_secret: own })
        .transform((one) => ({
          tenantId: one.tenant_id,
          clientId: one.client_id,
          clientSecret: one.client_secret,
        })),
    ])
    .describe('A registered application with a client secret.')
}

const userAssigned = () =>
  oneOfKeys(
    z.strictObject({
      clientId: id().optional().describe('The client ID of the identity.'),
      objectId: id().optional().describe('The object ID of the identity.'),
      resourceId: id().optional().describe('The resource ID of the identity.'),
    }),
    ['clientId', 'objectId', 'resourceId'],
  ).transform(({ clientId, objectId, resourceId }): UserAssigned => {
    if (clientId !== undefined) return { by: 'client_id', id: clientId }
    if (objectId !== undefined) return { by: 'object_id', id: objectId }
    return { by: 'msi_res_id', id: resourceId ?? '' }
  })

const explicit = () =>
  oneOfKeys(
    z.strictObject({
      clientSecret: clientSecret().optional(),
      managedIdentity: z
        .strictObject({
          userAssignedIdentity: userAssigned()
            .optional()
            .describe('The identity to use if the machine has several.'),
        })
        .optional()
        .describe('The managed identity of the machine or App Service.'),
      workloadIdentity: z
        .strictObject({})
        .optional()
        .describe(
          'The workload identity of the pod, from the environment variables `AZURE_TENANT_ID`, `AZURE_CLIENT_ID` and ' +
            '`AZURE_FEDERATED_TOKEN_FILE`.',
        ),
    }),
    ['clientSecret', 'managedIdentity', 'workloadIdentity'],
  )

export const azureIdentity = () =>
  oneOfKeys(
    z.strictObject({
      explicitConfig: explicit().optional().describe('An explicit identity.'),
      implicit: z
        .strictObject({})
        .optional()
        .describe(
          'The identity from the environment: a client secret (`AZURE_CLIENT_SECRET`), a workload identity, ' +
            'or else the managed identity of the machine.',
        ),
      scope: z
        .string()
        .max(1024)
        .regex(/^[!-~]+$/)
        .optional()
        .describe(
          'The scope of the token. Defaults to `https://cognitiveservices.azure.com/.default`, or ' +
            '`https://ai.azure.com/.default` for Foundry hosts.',
        ),
    }),
    ['explicitConfig', 'implicit'],
  ).transform(({ explicitConfig, scope }): AzureIdentity => {
    const own = scope === undefined ? {} : { scope }
    if (explicitConfig === undefined) return { kind: 'implicit', ...own }
    const { clientSecret, managedIdentity } = explicitConfig
    if (clientSecret !== undefined) return { kind: 'clientSecret', ...clientSecret, ...own }
    if (managedIdentity === undefined) return { kind: 'workloadIdentity', ...own }
    const { userAssignedIdentity: user } = managedIdentity
    return { kind: 'managedIdentity', ...(user === undefined ? {} : { user }), ...own }
  })

/** For an Azure service that a policy itself calls. */
export const azureCredential = () =>
  oneOfKeys(
    z.strictObject({
      key: keyText().optional().describe('The API key of the resource: a string or `{file}`.'),
      azure: azureIdentity().optional().describe('A Microsoft Entra ID token.'),
    }),
    ['key', 'azure'],
  ).describe('The credential to send to the service.')
