package heddle

// Queue is a queue of an interface, with where its work is done (the kernel's Documentation/networking/scaling.rst). Lists of processors are
// written as the kernel does, such as 0-3,8.
type Queue struct {
	// Name is the kernel's: rx-0, tx-0, and so on. Packets are received from the former and sent by the latter.
	Name string `json:"name"`
	// Interrupt is the number of its interrupt on the host, and CPUs are the processors that it may go to. They are left out if it shares one
	// with others, or if the driver is none whose interrupts are known by queue: only virtio's are.
	Interrupt int    `json:"interrupt,omitempty"`
	CPUs      string `json:"cpus,omitempty"`
	// Steering are, for a queue that receives, the processors to which packets are handed on (RPS), and for one that sends, those whose packets it
	// sends (XPS). It is left out where the kernel steers none.
	Steering string `json:"steering,omitempty"`
}
