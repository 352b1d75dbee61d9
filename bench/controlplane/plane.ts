/** A control plane with a proxy for the Gateway `edge` of the namespace `apps`. */
export interface Plane {
  readonly gatewayClass: string
  /** The port of the listener. */
  readonly port: number
  /** The API server path of its policies. */
  readonly policies: string
  /** A policy that admits requests with this value in `x-who` to the route `r<n>`. */
  policyOf(n: number, value: string): PolicyManifest
  isProgrammed(policy: PolicyObject): boolean
  /** The process id of the controller. */
  readonly controller: number
  /** Resolves when the proxy serves; the Gateway must exist. */
  ready(): Promise<void>
  /** Times at which the controller and the proxy logged an edit, in milliseconds since 1970. */
  logged?(): { readonly translated: readonly number[]; readonly applied: readonly number[] }
  close(): Promise<void>
}

export interface PolicyManifest {
  readonly metadata: { readonly name: string }
  readonly spec: object
}

export interface PolicyObject {
  readonly status?: {
    readonly ancestors?: readonly {
      readonly conditions: readonly { readonly type: string; readonly status: string }[]
    }[]
  }
}

export function hasCondition({ status }: PolicyObject, type: string): boolean {
  return (
    status?.ancestors?.some(({ conditions }) =>
      conditions.some((one) => one.type === type && one.status === 'True'),
    ) === true
  )
}
