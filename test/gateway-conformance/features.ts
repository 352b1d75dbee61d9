// The features that the suite tests, and those that it skips.

/** The profiles that are claimed in full: everything at the level Core, and the features below. */
export const PROFILES = ['GATEWAY-HTTP', 'GATEWAY-GRPC', 'GATEWAY-TLS', 'GATEWAY-TCP'] as const

/** Gateway API features that are not claimed, by reason; all others are. */
export const NOT_CLAIMED: Readonly<Record<string, readonly string[]>> = {
  'UDP is not proxied.': ['UDPRoute'],
  'Portcullis is a gateway, not a mesh: it attaches routes to Gateways alone.': [
    'Mesh',
    'MeshClusterIPMatching',
    'MeshConsumerRoute',
    'MeshHTTPRouteBackendRequestHeaderModification',
    'MeshHTTPRouteNamedRouteRule',
    'MeshHTTPRouteQueryParamMatching',
    'MeshHTTPRouteRedirectPath',
    'MeshHTTPRouteRedirectPort',
    'MeshHTTPRouteRewritePath',
    'MeshHTTPRouteSchemeRedirect',
  ],
}
