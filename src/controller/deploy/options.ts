export interface DeployOptions {
  /** `registry/repository:tag` of the controller's own version by default. */
  readonly image: {
    readonly registry: string
    readonly repository: string
    readonly tag: string
    readonly pullPolicy?: string
  }
  /** `https://…` or `http://…`, as proxies reach the controller. */
  readonly xdsAddress: string
  /** Certificates that proxies trust; undefined if the controller is reached without TLS. */
  readonly xdsCa?: string | undefined
  /** Seals sessions; generated once for each Gateway. Base64, as in Secrets. */
  readonly sessionKey: string
}

/** The audience of the tokens by which proxies prove which Gateway they belong to. */
export const TOKEN_AUDIENCE = 'portcullis'
