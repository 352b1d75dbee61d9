/** The header by which a picker names the endpoints, and no client does. */
export const DESTINATION = 'x-gateway-destination-endpoint'
