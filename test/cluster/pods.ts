export interface PodList {
  readonly items: readonly Pod[]
}

export interface Pod {
  readonly metadata: {
    readonly name: string
    readonly annotations: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly spec: { readonly containers: readonly { readonly image: string }[] }
  readonly status: {
    readonly podIP: string
    readonly containerStatuses?: readonly {
      readonly restartCount: number
      readonly ready: boolean
    }[]
  }
}

export function podName({ metadata }: Pod): string {
  return metadata.name
}
