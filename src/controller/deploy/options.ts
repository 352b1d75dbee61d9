export interface DeployOptions {
  /** `registry/repository:tag` of the controller's own version, unless parameters say otherwise. */
  readonly image: {
    readonly registry: string
    readonly repository: string
    readonly tag: string
    readonly pullPolicy?: string
  }
  /** `https://…` or `http://…`, as proxies reach the controller. */
  readonly xdsAddress: string
  /** Certificates that proxies trust; undefined: the controller is reached without TLS. */
  readonly xdsCa?: string | undefined
  /** Seals sessions; generated once for each Gateway. Base64, as Secrets have it. */
  readonly sessionKey: string
}

/** The audience of the tokens by which proxies prove whose they are. */
export const TOKEN_AUDIENCE = 'portcullis'
