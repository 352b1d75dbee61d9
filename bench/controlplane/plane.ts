/** A control plane with a proxy for the Gateway `edge` of the namespace `apps`. */
export interface Plane {
  readonly gatewayClass: string
  /** Of the listener. */
  readonly port: number
  /** The address of its policies at the API server. */
  readonly policies: string
  /** Admits to the route `r<n>` whoever has this value in `x-who`. */
  policyOf(n: number, value: string): PolicyManifest
  isProgrammed(policy: PolicyObject): boolean
  /** The process id of the controller. */
  readonly controller: number
  /** Resolves once the proxy serves; the Gateway is there. */
  ready(): Promise<void>
  /** What the controller and the proxy logged since the last time, in milliseconds since 1970. */
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
