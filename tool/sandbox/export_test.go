package sandbox

const Marker = marker
