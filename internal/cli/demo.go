package cli

// DemoModel is what serve offers without a configuration.
const DemoModel = "demo"
